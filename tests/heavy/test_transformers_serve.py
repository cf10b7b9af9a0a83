"""Against `transformers serve`, a real server with a model that really looks at images: `make test-transformers`.

The model is tiny and its weights are random: what it says is noise, but noise that depends on every pixel. That is
enough to prove that pictures arrive, in order, and that the history is there.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from lmmscore.conversation import Conversation
from lmmscore.images import Picture, Pictures, Recipe
from lmmscore.judges.config import JudgeOptions
from lmmscore.judges.openai import make
from lmmscore.records import Reply

transformers = pytest.importorskip(
    "transformers", reason="needs the heavy extra: pip install lmmscore[transformers]"
)
torch = pytest.importorskip(
    "torch", reason="needs the heavy extra: pip install lmmscore[transformers]"
)

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)


def write_model(folder: Path) -> None:
    """Write a LLaVA of a few thousand random weights that reads and writes bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {
        token: number for number, token in enumerate(["<pad>", "<end>", "<image>", *alphabet])
    }
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        eos_token="<end>",
        additional_special_tokens=["<image>"],
    )
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
    processor = transformers.LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
        image_token="<image>",
    )
    vision = transformers.CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        eos_token_id=1,
        pad_token_id=0,
    )
    config = transformers.LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=2,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    torch.manual_seed(1)
    model = transformers.LlavaForConditionalGeneration(config)
    # Weights of the usual size would give the same first byte whatever is shown; these do not.
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.5)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`MODEL@URL` of a running server."""
    folder = tmp_path_factory.mktemp("model")
    write_model(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder)]
    log = (tmp_path_factory.getbasetemp() / "serve.log").open("w")
    server = subprocess.Popen(
        [*words, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        stdout=log,
        stderr=subprocess.STDOUT,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", server)
        yield f"{folder}@http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(20)
        log.close()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(180):
        assert server.poll() is None, "the server ended"
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(1)
    raise AssertionError("the server did not start in three minutes")


@pytest.fixture
def shown(tmp_path: Path) -> list[Picture]:
    """Three pictures that differ."""
    pictures = Pictures(Recipe())
    for number in range(3):
        noise = random.Random(number).randbytes(56 * 56 * 3)
        Image.frombytes("RGB", (56, 56), noise).save(tmp_path / f"{number}.png")
    return [pictures.get(tmp_path / f"{number}.png") for number in range(3)]


def ask(spec: str, *conversations: Conversation) -> list[Reply]:
    """Return the replies to conversations, each asked by itself."""
    judge = make(
        spec,
        options=JudgeOptions(temperature=0.0, max_tokens=48, seed=1, timeout_s=120, attempts=2),
    )

    async def play() -> list[Reply]:
        try:
            return [await judge.ask(conversation) for conversation in conversations]
        finally:
            await judge.close()

    return asyncio.run(play())


def test_the_model_answers_and_is_named(spec: str, shown: list[Picture]) -> None:
    """Text, finish reason and model come back from a server that is not ours."""
    (reply,) = ask(spec, Conversation().say("What is this?", (shown[0],)))
    assert reply.text and reply.model
    assert reply.finish in {"stop", "length"}


def test_the_model_sees_the_pictures_in_their_order(spec: str, shown: list[Picture]) -> None:
    """The same words about other pictures, or the same pictures in another order, get another answer."""
    first, second, third = shown
    question = "Which is better?"
    same, again, other, turned = ask(
        spec,
        Conversation().say(question, (first, second)),
        Conversation().say(question, (first, second)),
        Conversation().say(question, (first, third)),
        Conversation().say(question, (second, first)),
    )
    assert same.text == again.text
    assert len({same.text, other.text, turned.text}) == 3


def test_the_model_has_the_history(spec: str, shown: list[Picture]) -> None:
    """A later answer depends on what was shown and said before."""
    talks = [
        Conversation().say("Look.", (picture,)).hear("Yes.").say("And now?")
        for picture in (shown[0], shown[2])
    ]
    one, other = ask(spec, *talks)
    assert one.text != other.text
