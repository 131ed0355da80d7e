"""The HTTP face of the engine: routes, problem replies, OpenAPI. Decides nothing itself."""
