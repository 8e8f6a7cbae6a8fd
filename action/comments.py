"""The one comment on a pull request that is ours: made once, then brought up to date."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

_A_PAGE = 100
_SECONDS = 30


class CommentError(Exception):
    """Why there is no comment, and what to do."""


class Comments:
    """The comments of one pull request, over the REST API."""

    def __init__(self, api: str, repository: str, request: int, token: str) -> None:
        self._api, self._token = api.rstrip("/"), token
        self._repository = f"/repos/{repository}/issues"
        self._request = request

    def put(self, marker: str, body: str) -> str:
        """Comment, in place of an earlier comment of ours that begins with `marker`; the URL. Raises CommentError."""
        text = {"body": f"{marker}\n{body}"}
        earlier = self._ours(marker)
        if earlier is None:
            made = self._asked("POST", f"{self._repository}/{self._request}/comments", text)
        else:
            made = self._asked("PATCH", f"{self._repository}/comments/{earlier}", text)
        return str(made.get("html_url", ""))

    def _ours(self, marker: str) -> int | None:
        """The ID of that comment. Anybody can write the marker, so it must also be by whom the token belongs to."""
        login = self._login()
        page = 1
        while True:
            place = f"{self._repository}/{self._request}/comments?per_page={_A_PAGE}&page={page}"
            comments = self._asked("GET", place)
            for comment in comments:
                user = comment.get("user") or {}
                is_ours = user.get("login") == login if login else user.get("type") == "Bot"
                if is_ours and (comment.get("body") or "").startswith(marker):
                    return int(comment["id"])
            if len(comments) < _A_PAGE:
                return None
            page += 1

    def _login(self) -> str | None:
        """Whose token it is; None for a token of an app, as that of a workflow is, which may not ask."""
        try:
            return str(self._asked("GET", "/user")["login"])
        except (CommentError, KeyError):
            return None

    def _asked(self, method: str, place: str, body: Any = None) -> Any:
        request = urllib.request.Request(  # noqa: S310  # the API that the runner names
            f"{self._api}{place}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "agenteval",
            },
        )
        try:
            with _OPENER.open(request, timeout=_SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise CommentError(_refused(method, place, error)) from error
        except (OSError, HTTPException, ValueError) as error:
            raise CommentError(f"{method} {self._api}{place}: {error}") from error


def _refused(method: str, place: str, error: urllib.error.HTTPError) -> str:
    try:
        why = json.load(error).get("message", error.reason)
    except (OSError, ValueError, AttributeError):
        why = error.reason
    hint = "; the job needs `permissions: {pull-requests: write}`, which a pull request from a fork does not get"
    return f"{method} {place}: {error.code} {why}{hint if error.code in (401, 403, 404) else ''}"


def _opener() -> urllib.request.OpenerDirector:
    """One that follows no redirect: a token is for the API it was made for, wherever that points."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        *(urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler),
        *(urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPErrorProcessor),
    ):
        opener.add_handler(handler())
    return opener


_OPENER = _opener()
