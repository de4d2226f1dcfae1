"""What the doctor asks a Kubernetes API server."""
