"""The official SDKs against the simulator, on a real socket: the proof that it speaks the protocol.

Four clients go through the same things: Python's blocking connection, its asynchronous one, its
lane helper on top of each (the tests run in these `form`s), and Node's (``node/``, lane helper
included). A tap between them and the simulator notes all that passes. After each test every event
is checked against the SDK's types, every request too, and that none was refused but those that the
test expects; that no event is lost or doubled; and that the SDK's accumulator, fed all but the end
of a response, already holds what the end says.

==========================  ==================================  ===========================
of what                     Python                              Node
==========================  ==================================  ===========================
streaming, all scenarios    ``test_streaming``                  ``streaming.test.mjs``
tools of seven kinds        ``test_tools``                      ``streaming.test.mjs``
four lanes at once          ``test_lanes``                      ``lanes.test.mjs``
steering, failure codes     ``test_steering``                   ``steering.test.mjs``
errors, limits              ``test_errors``, ``test_lanes``     ``connection``, ``lanes``
message size, the way back  ``test_sizes``, ``test_connection`` ``connection``, ``lanes``
several agents (beta)       ``test_agents``                     ``agents.test.mjs``
unknown events              ``test_unknown``                    ``unknown.test.mjs``
==========================  ==================================  ===========================

What a client cannot do has a test that says so: Python's lane helper refuses a second create while
a response of its lane runs, and so an early continuation; both helpers refuse malformed lane names
before the service can; while a connection is made anew Python's sends nothing and Node's gives its
lanes up; Node's accumulator does not know the beta's items. `test_checks` proves the checks: what
is wrong does not pass them.
"""
