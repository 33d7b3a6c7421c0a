"""Buckets: `store.py` holds them, `routes.py` answers for them, `xet.py` is the store that their content travels through."""

from tests.helpers.hub.buckets.store import Bucket as Bucket
from tests.helpers.hub.buckets.store import BucketFile as BucketFile
from tests.helpers.hub.buckets.store import Buckets as Buckets
