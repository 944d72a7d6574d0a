"""Hosts, meshes and placement: where arrays live and programs run."""
