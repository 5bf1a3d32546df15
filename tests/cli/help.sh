# Help and version go to standard output and end well.
t --version
t --help | head -n 4
t show -h | head -n 1
t list --help | tail -n 8
t merge --help | tail -n 8
