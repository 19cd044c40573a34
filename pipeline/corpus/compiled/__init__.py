"""C sources -> blocks with the true input order of GCC's last scheduling pass. Called by its stage."""
