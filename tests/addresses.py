"""Addresses of this machine that are free."""

import socket


def free_address() -> str:
    """127.0.0.1:PORT, where PORT is free at all addresses: JAX listens at all of them, and a connection that another
    program has just closed may hold a port at some."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"
