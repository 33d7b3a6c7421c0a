"""What helps against steps that spoilt the weights: gradients that were not finite, and losses that spiked and stayed high."""

from collections.abc import Iterator
from statistics import mean

from holdfast.core.job_file.job import Job
from holdfast.core.run.loss_spike import LossSpike
from holdfast.core.run.lost_loss import LostLoss
from holdfast.core.run.remedy import AppliedRemedy, Permission
from holdfast.engine.recover.failed_job import FailedJob
from holdfast.engine.units import render_number


def ends_spikes(job: Job | None) -> bool:
    """True if a job has an attempt ended whose loss spikes and stays high. Losses of rewards say nothing, and scripts are not changed."""
    return job is not None and "loss_spike" in job.recover.allow and not job.method.generates


def describe_spike(spike: LossSpike) -> str:
    """Return a spike in words.

    >>> describe_spike(LossSpike(after=90, first=95, last=140, usual=1.2, losses=(8.0, 9.0)))
    'the loss was usually 1.20 up to step 90, and 8.50 from step 95 to step 140'
    """
    usual, high = render_number(spike.usual), render_number(mean(spike.losses))
    return f"the loss was usually {usual} up to step {spike.after}, and {high} from step {spike.first} to step {spike.last}"


def without_lost_steps(job: FailedJob, lost: LostLoss) -> Iterator[AppliedRemedy]:
    """Yield what helps against gradients that are not finite."""
    because = f"the gradients of step {lost.first} are not finite, and those of step {lost.after} were"
    yield from _without_steps(job, "skip_batches", because, (lost.after + 1, lost.first))


def without_spike(job: FailedJob, spike: LossSpike) -> Iterator[AppliedRemedy]:
    """Yield what helps against a spike."""
    yield from _without_steps(job, "loss_spike", describe_spike(spike), (spike.after + 1, spike.last))


def _without_steps(
    job: FailedJob, permission: Permission, because: str, steps: tuple[int, int]
) -> Iterator[AppliedRemedy]:
    """Yield what helps against steps that spoilt the weights: their batches left out, then a lower learning rate."""
    skipped = AppliedRemedy(
        permission=permission,
        because=because,
        skips=steps,
        resumes_until=steps[0] - 1,
        differs=("the rows of the skipped steps train nothing; the schedule goes on as if they did",),
    )
    # A batch that is left out would leave out the generation of others.
    helpful = [*([] if job.job.method.generates else [skipped]), *_lower_rate(job, because)]
    yield from reversed(helpful) if any(each.skips for each in job.earlier) else helpful


def _lower_rate(job: FailedJob, because: str) -> Iterator[AppliedRemedy]:
    rate = job.setting("learning_rate")
    if isinstance(rate, float):
        yield AppliedRemedy(
            permission="learning_rate",
            because=f"with a learning rate of {rate:g}, {because}",
            changes=(job.change("learning_rate", rate / 2),),
            resumes_until=0,
            keeps=("effective_batch", "data_order", "optimizer"),
            differs=("a checkpoint keeps its own learning rate, so training starts over",),
        )
