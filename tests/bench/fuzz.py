"""The properties of tests/test_fuzz_bytes.py with many more examples.

python tests/bench/fuzz.py [EXAMPLES]
"""

import os
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).resolve().parent.parent / "test_fuzz_bytes.py"

if __name__ == "__main__":
    examples = sys.argv[1] if len(sys.argv) > 1 else "5000"
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "--hypothesis-seed=random", str(TEST)]
    if examples.isdigit():
        sys.exit(subprocess.run(command, env=os.environ | {"NKI_MIGRATE_FUZZ": examples}, check=False).returncode)
    sys.exit(f"{examples!r} is no number of examples")
