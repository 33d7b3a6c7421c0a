"""What a plan keeps of its job holds no secret, and asks for none that its script does not need."""

from dataclasses import asdict

from msgspec import convert

from holdfast.core.job_file.secret_references import SecretReferences
from holdfast.core.run.plan import Plan

TOKEN, OTHER = "hf_" + "aB3dE6gH9j" * 3 + "kLmN", "hf_" + "zY8xW7vU6t" * 3 + "sRqP"


def test_the_job_of_a_plan_refers_to_the_secrets_of_its_script_alone() -> None:
    """A secret that stands elsewhere in the job is no reason to send it to the machine of an attempt."""
    job = {"train": {"hub_token": TOKEN}, "notify": {"webhook": f"https://hooks.example/{OTHER}"}}
    plan = Plan(name="a", script=f"token = '{TOKEN}'", script_name="a.py", cwd="/", job=job, sources={"a.py": OTHER})
    referred = SecretReferences({}, (), {}).refer_plan(plan)

    assert referred.secrets == ("HOLDFAST_SECRET_1",)
    assert referred.job is not None
    assert referred.job["train"] == {"hub_token": "<holdfast-secret:HOLDFAST_SECRET_1>"}
    written = asdict(referred)
    assert OTHER not in repr(written)
    assert TOKEN not in repr(written)
    assert convert(written, Plan) == referred
