"""The same endpoint with Ray Serve, set up as its guide to performance says: HAProxy in front, throughput mode, no
access log. Started by ../http.ts with the number of a free port. It ends when its standard input ends. `/one` has one
replica, `/two` has two.
"""

import json
import os
import sys

os.environ["RAY_SERVE_ENABLE_HA_PROXY"] = os.environ.get("RAY_SERVE_ENABLE_HA_PROXY", "1")
os.environ["RAY_SERVE_THROUGHPUT_OPTIMIZED"] = "1"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
from pydantic import BaseModel, ConfigDict, Field
from ray import serve
from starlette.requests import Request
from starlette.responses import Response


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    language: str
    temperature: float = Field(ge=0, le=2)


class Input(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=1000)
    count: int = Field(ge=0, le=1000)
    options: Options


class Output(BaseModel):
    text: str
    count: int


@serve.deployment(max_ongoing_requests=10_000, ray_actor_options={"num_cpus": 0})
class Noop:
    # Not an ASGI application, because FastAPI in front of it would cost more.
    async def __call__(self, request: Request) -> Response:
        given = Input.model_validate_json(await request.body())
        return Response(Output(text=given.text, count=given.count).model_dump_json(), media_type="application/json")


def main() -> None:
    port, folder = int(sys.argv[1]), sys.argv[2]
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, object_store_memory=100 * 2**20, log_to_driver=False, _temp_dir=folder)
    serve.start(http_options={"host": "127.0.0.1", "port": port}, logging_config={"enable_access_log": False, "log_level": "WARNING"})
    for name, replicas in (("one", 1), ("two", 2)):
        serve.run(Noop.options(num_replicas=replicas).bind(), name=name, route_prefix=f"/{name}")
    print(json.dumps({"port": port, "ray": ray.__version__, "python": sys.version.split()[0]}), flush=True)
    sys.stdin.read()
    serve.shutdown()
    ray.shutdown()


main()
