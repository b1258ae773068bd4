"""Speed, measured against a peer in the same run. Scripts, not tests: nothing here can fail a build."""
