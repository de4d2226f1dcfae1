"""What ``doctor`` looks at, by theme. Nothing here changes anything."""
