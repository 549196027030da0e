"""One file per metric; each is found by its module, so that adding a metric is adding a file."""
