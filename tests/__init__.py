"""Tests: each asserts something that users need."""
