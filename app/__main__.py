"""Lets `python -m app` do what the inferprice command does."""

from app.cli import main

if __name__ == "__main__":
    main()
