"""The procrastinate app of somebody else, with two tasks of its own and reaper's beside them."""

import os

import procrastinate

from reaper.procrastinate import blueprint

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(
        conninfo=os.environ["REAPER_DATABASE_URL"], kwargs={"options": "-c search_path=shop_queue,public"}
    ),
    worker_defaults={"concurrency": 6, "fetch_job_polling_interval": 0.5},
)
app.add_tasks_from(blueprint(), namespace="reaper")


@app.task(name="shop.mail", pass_context=True)
async def mail(context: procrastinate.JobContext, order: int) -> None:
    """Leaves a mark."""
    await context.app.connector.execute_query_async(
        "insert into public.marks (service, pid) values ('mail', %(order)s)", order=order
    )


@app.task(name="shop.fail")
def fail() -> None:
    """Fails, as tasks do."""
    raise ValueError("no such order")
