"""The version of the client."""

VERSION = "0.0.0"
