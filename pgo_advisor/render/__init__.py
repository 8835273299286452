"""One module a format, each from the report to text."""
