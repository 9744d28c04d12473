"""The test runner behind `make test`: runs the suites, judges skips, counts."""
