"""Letta's official SDK against ``steer-nb simulate --dialect letta``, a process with a real socket.

Each test runs with `Letta` and with `AsyncLetta`, neither of which retries anything. A tap in the
client's transport notes what came over the wire; all that the SDK makes of it is held against that:
no field is lost, and none is there that its types do not know.
"""
