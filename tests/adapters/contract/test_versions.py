"""A versioned bucket keeps the bytes behind a delete marker: nothing of a key may stay."""

import pytest

from reaper.storage.s3.store import S3Options


@pytest.fixture
def set_versioning(client, bucket, needs):
    needs("versions")

    def set_to(status):
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})

    return set_to


@pytest.fixture
def left(client, bucket):
    """Every version and delete marker in the bucket, by key."""

    def keys():
        page = client.list_object_versions(Bucket=bucket)
        return sorted(v["Key"] for v in [*page.get("Versions", ()), *page.get("DeleteMarkers", ())])

    return keys


@pytest.mark.parametrize("single_deletes", [False, True])
def test_all_versions_and_delete_markers_go(
    open_store, store, client, bucket, put, set_versioning, left, single_deletes
):
    put("key")
    set_versioning("Enabled")
    put("key", "key", "other")
    client.delete_object(Bucket=bucket, Key="key")
    put("key")
    assert left() == ["key"] * 5 + ["other"]
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=single_deletes))
    assert s3.delete(["key"]) == {}
    assert left() == ["other"]


def test_only_the_versions_of_exactly_this_key_go(s3, put, set_versioning, left):
    set_versioning("Enabled")
    put("key", "key2", "key/deeper", "ke")
    assert s3.delete(["key"]) == {}
    assert left() == ["ke", "key/deeper", "key2"]


def test_an_absent_key_leaves_no_delete_marker(s3, set_versioning, left):
    set_versioning("Enabled")
    assert s3.delete(["absent"]) == {}
    assert left() == []


def test_a_suspended_bucket_still_has_its_old_versions_deleted(s3, put, set_versioning, left):
    set_versioning("Enabled")
    put("key", "key")
    set_versioning("Suspended")
    put("key")
    assert s3.delete(["key"]) == {}
    assert left() == []


def test_more_versions_than_a_page_go(open_store, store, bucket, put, set_versioning, left):
    set_versioning("Enabled")
    put(*["key"] * 11, "key2")
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(page_size=3))
    assert s3.delete(["key"]) == {}
    assert left() == ["key2"]


@pytest.mark.parametrize("single_deletes", [False, True])
def test_a_bucket_that_becomes_versioned_later_is_noticed(
    open_store, store, bucket, put, set_versioning, left, single_deletes
):
    s3 = open_store(bucket, store.endpoint_url, options=S3Options(single_deletes=single_deletes))
    assert s3.delete(["before"]) == {}
    set_versioning("Enabled")
    put("key", "key")
    assert s3.delete(["key"]) == {}
    assert left() == []


def test_a_locked_version_fails_for_good_and_the_others_go(store, client, open_store, needs):
    needs("versions")
    name = "locked-pastes"
    client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    client.put_object(Bucket=name, Key="free", Body=b"x")
    locked = client.put_object(Bucket=name, Key="held", Body=b"x")["VersionId"]
    client.put_object_legal_hold(Bucket=name, Key="held", VersionId=locked, LegalHold={"Status": "ON"})
    failed = open_store(name, store.endpoint_url).delete(["free", "held"])
    assert failed.keys() == {"held"}
    assert failed["held"].permanent
    assert [v["Key"] for v in client.list_object_versions(Bucket=name)["Versions"]] == ["held"]
