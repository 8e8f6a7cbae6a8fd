"""`python -m agenteval_cli` is the `agenteval` command."""

from agenteval_cli.cli import main

if __name__ == "__main__":
    main()
