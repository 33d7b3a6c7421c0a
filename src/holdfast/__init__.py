"""Verify, rehearse, launch, supervise, diagnose and recover LLM fine-tuning jobs."""
