"""What user code imports: define tasks, submit them, wait for results. Light, typed, few dependencies."""
