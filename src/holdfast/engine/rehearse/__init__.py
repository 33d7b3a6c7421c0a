"""Judging a rehearsal: from what its processes left to a verdict on each stage, and to one cause."""

from holdfast.engine.rehearse.judging import judge, judge_unstarted

__all__ = ["judge", "judge_unstarted"]
