pytest_plugins = ["zkkit.testing.fixtures"]
