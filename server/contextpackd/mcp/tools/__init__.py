"""The tools of agents, one a module. They know nothing of the protocol's library."""
