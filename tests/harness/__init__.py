"""A real Jupyter server, real terminals and a real training environment for the tests, the UI tests and the bench."""
