"""The database: its tables, the one module that writes prices, and the one module that reads them."""
