"""Rows of public datasets, made: the columns, splits and configurations of the released ones, by name.

Numbers of rows are those that scripts ask for at least: many take a slice or a share by number.
"""

from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

Row = dict[str, Any]
Splits = dict[str, list[Row]]


def rows(make: Callable[[int], Row], **counts: int) -> Callable[[], Splits]:
    """Return what makes the splits of a configuration, with so many rows of each: no row is in two of them."""
    starts = accumulate(counts.values(), initial=0)
    ranges = {split: range(start, start + count) for (split, count), start in zip(counts.items(), starts, strict=False)}
    return lambda: {split: [make(number) for number in numbers] for split, numbers in ranges.items()}


def only(make: Callable[[int], Row], **counts: int) -> dict[str, Callable[[], Splits]]:
    """Return the configurations of a dataset that has one."""
    return {"default": rows(make, **counts)}


def _user(number: int) -> Row:
    return {"role": "user", "content": f"What is {number} plus {number % 7}?"}


def _assistant(number: int) -> Row:
    return {"role": "assistant", "content": f"It is {number + number % 7}."}


def _messages(number: int) -> list[Row]:
    return [_user(number), _assistant(number), _user(number + 1), _assistant(number + 1)]


def _review(number: int) -> Row:
    words = "It was good. " * (400 if number % 50 == 0 else number % 9 + 1)
    return {"text": f"I have seen this film {number} times. {words}", "label": number % 2}


def _alpaca(number: int) -> Row:
    given = f"{number}, {number + 1}" if number % 2 else ""
    return {"instruction": f"Add the numbers {number}.", "input": given, "output": f"The sum is {number * 2 + 1}."}


def _gsm8k(number: int) -> Row:
    return {
        "question": f"Anna has {number} apples and buys 3. How many has she?",
        "answer": f"She has {number}+3=<<{number}+3={number + 3}>>{number + 3} apples.\n#### {number + 3}",
    }


def _math(number: int) -> Row:
    return {
        "problem": f"Compute ${number} + 1$.",
        "level": f"Level {number % 5 + 1}",
        "solution": f"We have ${number} + 1 = \\boxed{{{number + 1}}}$.",
        "type": "Algebra",
    }


def _preference(number: int) -> Row:
    return {
        "chosen": [_user(number), _assistant(number)],
        "rejected": [_user(number), {"role": "assistant", "content": "I do not know."}],
        "score_chosen": 8.0 + number % 2,
        "score_rejected": 2.0,
    }


def _prompted_preference(number: int) -> Row:
    told = _preference(number)
    return {"prompt": [_user(number)], "chosen": told["chosen"][1:], "rejected": told["rejected"][1:]}


def _dialogues(number: int) -> Row:
    begun = f"\n\nHuman: What is {number} plus {number % 7}?\n\nAssistant:"
    return {"chosen": f"{begun} It is {number + number % 7}.", "rejected": f"{begun} I do not know."}


def _orpo(number: int) -> Row:
    told = _preference(number)
    return {
        "source": "Airoboros",
        "chosen": told["chosen"],
        "rejected": told["rejected"],
        "prompt": _user(number)["content"],
        "question": _user(number)["content"],
    }


def _argilla(number: int) -> Row:
    told = _preference(number)
    return {
        "source": "evol_instruct",
        "prompt": _user(number)["content"],
        "chosen": told["chosen"],
        "chosen-rating": 5.0,
        "chosen-model": "gpt-4",
        "rejected": told["rejected"],
        "rejected-rating": 2.0,
        "rejected-model": "llama",
    }


def _unpaired(number: int) -> Row:
    return {"prompt": [_user(number)], "completion": [_assistant(number)], "label": number % 2 == 0}


def _tldr(number: int) -> Row:
    return {"prompt": f"SUBREDDIT: r/a\n\nPOST: I have {number} cats.\n\nTL;DR:", "completion": f" {number} cats"}


def _steps(number: int) -> Row:
    return {
        "prompt": f"What is {number} times 2?",
        "completions": [f"Step 1: {number} * 2 = {number * 2}", "Step 2: done."],
        "labels": [True, number % 3 == 0],
    }


def _quote(number: int) -> Row:
    return {"quote": f"“Be number {number}.”", "author": f"Author {number % 17}", "tags": ["be-yourself", "numbers"]}


def _line(number: int) -> Row:
    return {"text": "" if number % 3 == 0 else f"= Title {number} =\n The number {number} is a number . \n"}


def _dolly(number: int) -> Row:
    context = f"There are {number}." if number % 2 else ""
    return {
        "instruction": f"How many are {number}?",
        "context": context,
        "response": f"{number}.",
        "category": "open_qa",
    }


def _xlam(number: int) -> Row:
    return {
        "id": number,
        "query": f"What is the weather of day {number}?",
        "answers": f'[{{"name": "weather", "arguments": {{"day": {number}}}}}]',
        "tools": '[{"name": "weather", "description": "Weather", "parameters": {"day": {"type": "int"}}}]',
    }


def _guanaco(number: int) -> Row:
    return {"text": f"### Human: What is {number}?### Assistant: It is {number}."}


def _llama2(number: int) -> Row:
    return {"text": f"<s>[INST] What is {number}? [/INST] It is {number}. </s>"}


def _chat(number: int) -> Row:
    return {"messages": _messages(number), "full_topic": "Numbers/Sums"}


def _capybara(number: int) -> Row:
    return {"source": "Airoboros", "messages": _messages(number), "num_turns": 2}


def _think(number: int) -> Row:
    thought = {**_assistant(number), "thinking": f"{number} and {number % 7}"}
    system = {"role": "system", "content": "Reasoning language: French", "thinking": None}
    return {
        "reasoning_language": "French",
        "developer": "You answer.",
        "user": _user(number)["content"],
        "analysis": thought["thinking"],
        "final": thought["content"],
        "messages": [system, {**_user(number), "thinking": None}, thought],
    }


def _smoltalk2(number: int) -> Row:
    return {"messages": _messages(number), "chat_template_kwargs": {"enable_thinking": False}, "source": "sums"}


def _numina(number: int) -> Row:
    told = _math(number)
    messages = [
        {"role": "user", "content": told["problem"]},
        {"role": "assistant", "content": told["solution"]},
    ]
    return {"problem": told["problem"], "solution": told["solution"], "messages": messages}


def _eli5(number: int) -> Row:
    answers = [f"Because of {number}. " * (number % 30 + 1), "I do not know."]
    return {
        "q_id": f"a{number}",
        "title": f"Why is {number} odd?",
        "selftext": "",
        "category": "Mathematics",
        "subreddit": "explainlikeimfive",
        "answers": {"a_id": ["b", "c"], "text": answers, "score": [9, 2], "text_urls": [[], []]},
        "title_urls": ["url"],
        "selftext_urls": ["url"],
    }


DATASETS: Final[dict[str, dict[str, Callable[[], Splits]]]] = {
    "stanfordnlp/imdb": only(_review, train=5000, test=5000, unsupervised=50),
    "yahma/alpaca-cleaned": only(_alpaca, train=5000),
    "tatsu-lab/alpaca": only(_alpaca, train=5000),
    "openai/gsm8k": {name: rows(_gsm8k, train=7473, test=1319) for name in ("main", "socratic")},
    "DigitalLearningGmbH/MATH-lighteval": only(_math, train=7500, test=5000),
    "HuggingFaceH4/MATH-500": only(
        lambda n: {**_math(n), "answer": str(n + 1), "subject": "Algebra", "unique_id": str(n)}, test=500
    ),
    "AI-MO/NuminaMath-TIR": only(_numina, train=7000, test=99),
    "trl-lib/ultrafeedback_binarized": only(_preference, train=6000, test=1000),
    "trl-lib/Capybara": only(_capybara, train=3000, test=200),
    "trl-lib/tldr": only(_tldr, train=6000, validation=600, test=600),
    "trl-lib/tldr-preference": only(
        lambda n: {**_tldr(n), "chosen": " a", "rejected": " b"} | {}, train=600, validation=60
    ),
    "trl-lib/kto-mix-14k": only(_unpaired, train=1300, test=150),
    "trl-lib/chatbot_arena_completions": only(lambda n: {"messages": [_user(n), _assistant(n)]}, train=3000, test=300),
    "trl-lib/ultrafeedback-gpt-3.5-turbo-helpfulness": only(_unpaired, train=3000, test=300),
    "trl-internal-testing/hh-rlhf-helpful-base-trl-style": only(_prompted_preference, train=3000, test=300),
    "trl-lib/math_shepherd": only(_steps, train=2000, test=200),
    "trl-lib/ultrafeedback-prompt": only(lambda n: {"prompt": [_user(n)]}, train=3000, test=300),
    "trl-lib/DeepMath-103K": only(lambda n: {"prompt": [_user(n)], "solution": f"${n + n % 7}$"}, train=3000),
    "trl-internal-testing/descriptiveness-sentiment-trl-style": {
        "default": rows(
            lambda n: {
                "prompt": f"It was day {n}",
                "chosen": [_user(n), _assistant(n)],
                "rejected": [_user(n), {"role": "assistant", "content": "no."}],
            },
            descriptiveness=500,
            sentiment=500,
        )
    },
    "trl-internal-testing/tldr-preference-sft-trl-style": only(
        lambda n: {
            "prompt": _tldr(n)["prompt"],
            "summary": f"{n} cats",
            "messages": [_user(n), _assistant(n)],
        },
        train=500,
        validation=200,
    ),
    "mlabonne/guanaco-llama2-1k": only(_llama2, train=1000),
    "mlabonne/orpo-dpo-mix-40k": only(_orpo, train=4000),
    "mlabonne/smoltldr": only(_tldr, train=2000, validation=200, test=200),
    "timdettmers/openassistant-guanaco": only(_guanaco, train=9846, test=518),
    "Abirate/english_quotes": only(_quote, train=2508),
    "fka/awesome-chatgpt-prompts": only(lambda n: {"act": f"Actor {n}", "prompt": f"I want you {n}"}, train=203),
    "databricks/databricks-dolly-15k": only(_dolly, train=3000),
    "philschmid/dolly-15k-oai-style": only(lambda n: {"messages": [_user(n), _assistant(n)]}, train=3000),
    "argilla/ultrafeedback-binarized-preferences-cleaned": only(_argilla, train=15000),
    "Salesforce/xlam-function-calling-60k": only(_xlam, train=2000),
    "Salesforce/wikitext": {
        name: rows(_line, train=3000, validation=300, test=300)
        for name in ("wikitext-2-raw-v1", "wikitext-2-v1", "wikitext-103-raw-v1")
    },
    "dair-ai/emotion": {"split": rows(lambda n: {"text": f"i feel {n}", "label": n % 6}, train=3000, test=500)},
    "meta-math/MetaMathQA": only(
        lambda n: {"type": "GSM_Rephrased", "query": f"{n}+1?", "original_question": f"{n}+1?", "response": f"{n + 1}"},
        train=5000,
    ),
    "meta-math/MetaMathQA-40K": only(lambda n: {"query": f"{n}+1?", "response": f"{n + 1}"}, train=5000),
    "HuggingFaceTB/smoltalk": {
        name: rows(_chat, train=2260, test=119) for name in ("everyday-conversations", "all", "smol-magpie-ultra")
    },
    "HuggingFaceTB/smoltalk2": {
        "SFT": rows(
            _smoltalk2,
            smoltalk_everyday_convs_reasoning_Qwen3_32B_think=2000,
            smoltalk_smollm3_everyday_conversations_no_think=2000,
        )
    },
    "HuggingFaceH4/Multilingual-Thinking": only(_think, train=1000),
    "HuggingFaceH4/ultrachat_200k": only(
        lambda n: {"prompt": _user(n)["content"], "prompt_id": str(n), "messages": _messages(n)},
        train_sft=3000,
        test_sft=300,
    ),
    "Jiayi-Pan/Countdown-Tasks-3to4": only(lambda n: {"target": n + 10, "nums": [n, 4, 6]}, train=60000),
    "b-mc2/sql-create-context": only(
        lambda n: {
            "question": f"How many heads are older than {n}?",
            "context": "CREATE TABLE head (age INTEGER)",
            "answer": f"SELECT COUNT(*) FROM head WHERE age > {n}",  # noqa: S608 - a row of data
        },
        train=15000,
    ),
    "medalpaca/medical_meadow_medical_flashcards": only(
        lambda n: {"input": f"What is drug {n}?", "output": f"Drug {n} is a drug.", "instruction": "Answer truthfully"},
        train=3000,
    ),
    "gtfintechlab/financial_phrasebank_sentences_allagree": {
        "5768": rows(lambda n: {"sentence": f"Profit rose {n} %", "label": n % 3}, train=800, val=100, test=200)
    },
    "zeroshot/twitter-financial-news-sentiment": only(
        lambda n: {"text": f"$A at {n}", "label": n % 3}, train=2000, validation=400
    ),
    "Lots-of-LoRAs/task1660_super_glue_question_generation": only(
        lambda n: {"input": f"Definition: ask. Input: passage {n}\nOutput:", "output": [f"is it {n}?"], "id": f"a{n}"},
        train=2000,
        valid=200,
        test=200,
    ),
    "smangrul/assistant_chatbot_dataset": only(
        lambda n: {"context": f"I am {n}. </s> Hello {n}.", "response": "Good. </s>"}, train=900, test=100
    ),
    "AlexanderDoria/novel17_test": only(_guanaco, train=600, test=100),
    "DevQuasar/llm_router_dataset-synth": only(
        lambda n: {"id": n, "prompt": f"Do {n}", "label": n % 2}, train=3000, test=300
    ),
    "bebechien/SimpleToolCalling": only(
        lambda n: {
            "user_content": f"Search for {n}",
            "tool_name": "search_google" if n % 2 else "search_knowledge_base",
            "tool_arguments": f'{{"query": "{n}"}}',
        },
        train=40,
    ),
    "smangrul/hf-stack-v1": only(
        lambda n: {
            "repo_id": f"hf/{n}",
            "file_path": "a.py",
            "content": f"def f{n}(x):\n    return x + {n}\n" * 9,
            "__index_level_0__": n,
        },
        train=6000,
    ),
    "zamal/github-meta-data": only(
        lambda n: {"text": f"A repository about {n}", "tags": ["python", f"t{n % 9}"]}, train=900, test=100
    ),
    "BaSalam/entity-attribute-dataset-GPT-3.5-generated-v1": only(
        lambda n: {"instruction": f"product {n}", "output": '{"attributes": {}}', "text": f"product {n}"}, train=900
    ),
    "dany0407/eli5_category": only(_eli5, train=6000, validation1=300, test=300),
    "eli5_category/eli5_category": only(_eli5, train=6000, validation1=300, test=300),
    "allenai/swag": {
        "regular": rows(
            lambda n: {
                "video-id": f"v{n}",
                "fold-ind": str(n),
                "startphrase": f"She takes {n}. He",
                "sent1": f"She takes {n}.",
                "sent2": "He",
                "gold-source": "gold",
                **{f"ending{end}": f"gives {end}." for end in range(4)},
                "label": n % 4,
            },
            train=2000,
            validation=300,
            test=300,
        )
    },
    "rajpurkar/squad": {
        "plain_text": rows(
            lambda n: {
                "id": f"q{n}",
                "title": "Numbers",
                "context": f"Anna has {n} apples. " + "She is glad. " * (n % 60),
                "question": "How many apples has Anna?",
                "answers": {"text": [str(n)], "answer_start": [9]},
            },
            train=6000,
            validation=600,
        )
    },
    "FiscalNote/billsum": only(
        lambda n: {
            "text": f"SECTION {n}. " + "The Act is amended. " * 9,
            "summary": f"Amends {n}.",
            "title": f"Act {n}",
        },
        train=900,
        test=200,
        ca_test=1200,
    ),
    "Helsinki-NLP/opus_books": {
        "en-fr": rows(lambda n: {"id": str(n), "translation": {"en": f"It is {n}.", "fr": f"C'est {n}."}}, train=2000)
    },
    "wmt/wmt16": {
        "ro-en": rows(
            lambda n: {"translation": {"en": f"It is {n}.", "ro": f"Este {n}."}}, train=3000, validation=300, test=300
        )
    },
    "kr15t3n/text2emoji": only(lambda n: {"text": f"I am {n}", "emoji": "🎉" if n % 2 else "🚀"}, train=2500),
    "bebechien/MobileGameNPC": {
        name: rows(lambda n: {"player": f"Hello {n}!", "alien": f"Zz {n}."}, train=25)
        for name in ("martian", "venusian")
    },
    "philschmid/gretel-synthetic-text-to-sql": only(
        lambda n: {
            "sql_prompt": f"How many heads are older than {n}?",
            "sql_context": "CREATE TABLE head (age INTEGER)",
            "sql": "SELECT COUNT(*) FROM head",
        },
        train=20000,
    ),
    "HuggingFaceTB/smol-smoltalk": only(_chat, train=3000, test=300),
    "HuggingFaceH4/ultrafeedback_binarized": only(
        lambda n: {"prompt": _user(n)["content"], "prompt_id": str(n), **_preference(n), "messages": _messages(n)},
        train_prefs=3000,
        test_prefs=2000,
        train_sft=3000,
        test_sft=1000,
    ),
    "open-r1/Mixture-of-Thoughts": {
        name: rows(lambda n: {"messages": _messages(n), "num_tokens": 400 + n, "source": "open-r1"}, train=2000)
        for name in ("all", "code", "math", "science")
    },
    "open-r1/OpenR1-Math-220k": {
        name: rows(lambda n: {**_math(n), "answer": f"{n + 1}", "messages": _messages(n)}, train=2000)
        for name in ("default", "all", "extended")
    },
    "open-r1/codeforces-cots": {
        name: rows(lambda n: {"id": f"{n}/A", "prompt": f"Solve {n}.", "messages": _messages(n)}, train=2000)
        for name in ("solutions", "default")
    },
    "bigcode/the-stack-smol": {
        "default": rows(lambda n: {"content": f"print({n})\n", "path": f"a{n}.py", "lang": "Python"}, train=2000)
    },
    "smangrul/ultrachat-10k-chatml": only(lambda n: {"messages": _messages(n)}, train=2000, test=200),
    "Dahoas/synthetic-instruct-gptj-pairwise": only(
        lambda n: {"prompt": f"What is {n} plus 1?", "chosen": f"It is {n + 1}.", "rejected": "I do not know."},
        train=2000,
    ),
    "Anthropic/hh-rlhf": only(_dialogues, train=3000, test=300),
    "willcb/V3-wordle": only(
        lambda n: {
            "prompt": [
                {"role": "system", "content": "Guess a word of five letters."},
                {"role": "user", "content": "Go."},
            ],
            "completion": [{"role": "assistant", "content": f"<guess>[word{n % 9}]</guess>"}],
            "answer": "crane",
            "reward": n % 3 / 2,
            "task": "wordle",
        },
        train=1000,
    ),
    "tpo-alignment/triple-preference-ultrafeedback-40K": only(
        lambda n: {
            "prompt": _user(n)["content"],
            "reference": [_user(n), _assistant(n)],
            "chosen": [_user(n), _assistant(n)],
            "rejected": [_user(n), {"role": "assistant", "content": "I do not know."}],
        },
        train=2000,
        test=200,
    ),
}
