"""Where containers come from: one package per engine, all behind ``base.Engine``."""
