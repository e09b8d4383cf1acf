"""The server of agents, by the Model Context Protocol: its messages, its tools, what they hold.

The only place that knows the protocol's library (`mcp`, an extra); it is loaded when the first
agent comes, and nothing else imports this package.
"""
