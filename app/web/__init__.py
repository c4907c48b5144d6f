"""The dashboard over HTTP: pages for people, CSV and JSON for programs, one query for all of them."""
