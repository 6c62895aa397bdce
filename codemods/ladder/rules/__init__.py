"""One file a rule: what one version of NKI refuses, or takes for something else, written for it."""
