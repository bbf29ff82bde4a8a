"""How workers, streams and the gateway sleep until the database says that there is work."""
