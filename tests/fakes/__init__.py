"""Stand-ins for what the tests cannot have here: a Kubernetes API server and a bad network."""
