"""What is written and read by hand says the same as what the library would write and read."""

from xml.etree import ElementTree

import botocore.session
import pytest
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from reaper.storage.s3.delete_objects_xml import document, outcomes

KEYS = [
    "plain",
    "a/b/c",
    "a&b<c>d",
    "line\nfeed",
    "carriage\rreturn",
    "quo\"te's",
    "ünï",
    "  blanks  ",
    "tab\there",
]
REPLY = """<?xml version="1.0" encoding="UTF-8"?>
<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Deleted><Key>a&amp;b&#xA;c</Key></Deleted>
  <Deleted><Key>v</Key><VersionId>1</VersionId></Deleted>
  <Deleted><Key>m</Key><DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>2</DeleteMarkerVersionId></Deleted>
  <Error><Key>e</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>
</DeleteResult>"""


@pytest.fixture(scope="module")
def operation():
    return botocore.session.get_session().get_service_model("s3").operation_model("DeleteObjects")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_request_means_what_the_library_would_have_written(operation, quiet):
    objects = [{"Key": key} for key in KEYS] + [{"Key": "v", "VersionId": "<1>"}]
    ours = document(objects, quiet)
    theirs = create_serializer("rest-xml").serialize_to_request(
        {"Bucket": "b", "Delete": {"Objects": objects, "Quiet": quiet}}, operation
    )["body"]
    # The library mends line ends after it has written them.
    theirs = theirs.replace(b"\r", b"&#xD;").replace(b"\n", b"&#xA;")
    assert meaning(ours.encode()) == meaning(theirs)


def test_a_reply_is_read_as_the_library_reads_it(operation):
    response = {"body": REPLY.encode(), "headers": {}, "status_code": 200}
    theirs = create_parser("rest-xml").parse(response, operation.output_shape)
    assert outcomes(REPLY.encode()) == {"Deleted": theirs["Deleted"], "Errors": theirs["Errors"]}


def test_a_reply_without_a_namespace_is_read_too():
    body = b"<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult>"
    assert outcomes(body) == {"Deleted": [{"Key": "a"}], "Errors": []}


@pytest.mark.parametrize(
    "body", [b"", b"<Error><Code>InternalError</Code></Error>", b"<DeleteResult><Deleted>", b"no XML at all"]
)
def test_what_is_no_such_reply_is_left_to_the_library(body):
    assert outcomes(body) is None


def meaning(body):
    """The elements of a document, without its spelling."""
    return [(element.tag, element.text) for element in ElementTree.fromstring(body).iter()]
