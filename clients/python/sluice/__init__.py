# SPDX-License-Identifier: MIT
"""A client of sluiced: Client makes the calls of its HTTP API, Worker runs jobs.

Spans are seconds or a timedelta, times are seconds since 1970 or a datetime. What the service
answers comes as its document (docs/guide/http.md) has it, with `payload` as a value or as bytes.
"""
from sluice.client import Client
from sluice.errors import (AlreadyExists, Error, LeaseLost, NotFound, SomeFailed, TooMany,
                           Unavailable, Unknown)
from sluice.values import Job, new_job
from sluice.worker import Dead, Done, Release, Retry, Worker

__all__ = ["AlreadyExists", "Client", "Dead", "Done", "Error", "Job", "LeaseLost", "NotFound",
           "Release", "Retry", "SomeFailed", "TooMany", "Unavailable", "Unknown", "Worker",
           "new_job"]
