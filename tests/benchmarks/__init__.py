"""Speed, measured against a peer in the same run. Scripts, not tests: they print, and judge not."""
