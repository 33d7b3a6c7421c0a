from huggingface_hub import HfApi

HfApi().create_scheduled_uv_job("t.py", schedule="* * * * _", timeout="2h")
