"""Pure rules: limits, victims, plans and the next steps. No clock, no input or output."""
