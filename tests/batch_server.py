"""A loopback server with files and batches, which can misbehave in every way that batches do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.loopback import completion, playing


@dataclass
class BatchServer:
    """Answers batches when told to; counts what it was sent."""

    reply: Callable[[list[dict[str, Any]]], str] = playing
    files: dict[str, str] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """The ids of all requests, in the order they were handed in."""
    spoil: Callable[[str, dict[str, Any]], dict[str, Any] | None] = lambda _, line: line
    """What becomes of an answer; None: it is lost, as when a batch expires."""
    crash_after_create: bool = False
    ready: bool = True
    pages: bool = True
    """Whether it knows pages of a list; where not, the first has another after it for ever."""
    strangers: list[dict[str, Any]] = field(default_factory=list)
    """Batches of somebody else, in the same account."""
    as_ascii: bool = True
    """Whether its files write other characters than ASCII as \\u escapes."""
    redirect: str = ""
    """Where it sends whoever wants a file."""
    complaint: str = ""
    """Why it refuses files, where it does."""

    def app(self) -> web.Application:
        """Return the routes."""
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._retrieve)
        app.router.add_post("/v1/batches/{id}/cancel", self._cancel)
        return app

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        if self.complaint:
            return web.json_response({"error": {"message": self.complaint}}, status=400)
        file = form["file"]
        assert isinstance(file, web.FileField)
        name = f"file-{len(self.files) + 1}"
        self.files[name] = file.file.read().decode()
        about = {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "f"}
        return web.json_response({**about, "purpose": "batch", "status": "processed"})

    async def _content(self, request: web.Request) -> web.Response:
        if self.redirect:
            raise web.HTTPFound(self.redirect)
        return web.Response(text=self.files[request.match_info["id"]])

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        file = self.files[asked["input_file_id"]].removesuffix("\n")
        lines = [json.loads(line) for line in file.split("\n")]
        self.asked += [line["custom_id"] for line in lines]
        name = f"batch-{len(self.batches) + 1}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "created_at": 1,
            "status": "in_progress",
            "metadata": asked.get("metadata"),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "lines": lines,
        }
        if self.crash_after_create:
            raise web.HTTPInternalServerError
        return web.json_response(_public(self.batches[name]))

    async def _list(self, request: web.Request) -> web.Response:
        newest = [_public(batch) for batch in reversed(self.batches.values())]
        found = {"object": "list", "data": [*self.strangers, *newest]}
        return web.json_response({**found, "has_more": not self.pages})

    async def _retrieve(self, request: web.Request) -> web.Response:
        if request.match_info["id"] not in self.batches:
            raise web.HTTPNotFound(text='{"error": {"message": "no such batch"}}')
        batch = self.batches[request.match_info["id"]]
        if self.ready and batch["status"] == "in_progress":
            self._answer(batch)
        return web.json_response(_public(batch))

    async def _cancel(self, request: web.Request) -> web.Response:
        if request.match_info["id"] not in self.batches:
            raise web.HTTPNotFound(text='{"error": {"message": "no such batch"}}')
        batch = self.batches[request.match_info["id"]]
        batch["status"] = "cancelled"
        return web.json_response(_public(batch))

    def _answer(self, batch: dict[str, Any]) -> None:
        out, lost = [], []
        # In another order than they were asked.
        for line in reversed(batch["lines"]):
            body = completion(self.reply(line["body"]["messages"]))
            answer = {
                "id": "r",
                "custom_id": line["custom_id"],
                "response": {"status_code": 200, "request_id": "q", "body": body},
                "error": None,
            }
            spoiled = self.spoil(line["custom_id"], answer)
            if spoiled is None:
                error = {"code": "batch_expired", "message": "not in time"}
                lost.append({"custom_id": line["custom_id"], "response": None, "error": error})
            else:
                out.append(spoiled)
        batch["status"] = "expired" if lost else "completed"
        for key, lines in (("output_file_id", out), ("error_file_id", lost)):
            if lines:
                name = f"file-{len(self.files) + 1}"
                dumped = [json.dumps(line, ensure_ascii=self.as_ascii) for line in lines]
                self.files[name] = "".join(line + "\n" for line in dumped)
                batch[key] = name


def _public(batch: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in batch.items() if key != "lines"}
