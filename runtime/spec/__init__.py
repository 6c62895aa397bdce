"""Pure data about NKI: what the emulator implements and what the codemods read. Nothing here imports numpy."""
