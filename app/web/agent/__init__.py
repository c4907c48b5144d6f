"""What programs that speak the Model Context Protocol ask at /mcp: the site's own answers as tools."""
