"""Rows as well-known datasets have them, made up: each name is that of the shape, each row has its columns and types."""

from typing import Any

Row = dict[str, Any]


def chat(*turns: str) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index, text in enumerate(turns)]


def shared(*turns: tuple[str, str]) -> list[dict[str, str]]:
    return [{"from": name, "value": text} for name, text in turns]


def transcript(*turns: str) -> str:
    return "".join(f"\n\n{('Human', 'Assistant')[index % 2]}: {text}" for index, text in enumerate(turns))


ALPACA = [
    {"instruction": "Add the numbers.", "input": "1 and 2", "output": "3", "text": "Below is an instruction."},
    {"instruction": "Name a colour.", "input": "", "output": "Blue.", "text": "Below is another."},
]
DOLLY = [
    {"instruction": "Who wrote it?", "context": "Ann wrote it.", "response": "Ann.", "category": "closed_qa"},
    {"instruction": "Name a colour.", "context": "", "response": "Blue.", "category": "open_qa"},
]
ULTRA = {
    "prompt": "What is 1 plus 1?",
    "prompt_id": "f0e3",
    "chosen": chat("What is 1 plus 1?", "It is 2."),
    "rejected": chat("What is 1 plus 1?", "It is 3."),
    "messages": chat("What is 1 plus 1?", "It is 2."),
    "score_chosen": 8.5,
    "score_rejected": 3.0,
}
CALL = {"name": "add", "arguments": '{"a": 1, "b": 1}'}
FUNCTIONS = [{"name": "add", "description": "Adds.", "parameters": '{"type": "object"}'}]

FOREIGN: dict[str, list[Row]] = {
    "alpaca": [{key: value for key, value in row.items() if key != "text"} for row in ALPACA],
    "dolly": DOLLY,
    "flan": [{"inputs": "Translate: chat", "targets": "cat", "task": "wmt"}],
    "input and output": [{"input": "Say hello.", "output": "Hello."}],
    "input and target": [{"input": "Say hello.", "target": "Hello."}],
    "prompt and response": [{"prompt": "Say hello.", "response": "Hello."}],
    "openorca": [
        {"id": "flan.1", "system_prompt": "Be short.", "question": "Why?", "response": "Because."},
        {"id": "flan.2", "system_prompt": "", "question": "How?", "response": "So."},
    ],
    "metamath": [{"query": "1 + 1?", "response": "The answer is 2", "original_question": "1 + 1?", "type": "GSM"}],
    "gsm8k": [{"question": "Ann has 1 and gets 1.", "answer": "She has 1+1=<<1+1=2>>2.\n#### 2"}],
    "question and number": [{"question": "1 + 1?", "answer": 2}],
    "numina": [{"problem": "1 + 1?", "solution": "It is \\boxed{2}.", "source": "synthetic"}],
    "deepmath": [{"question": "1 + 1?", "final_answer": "2", "difficulty": 1.0, "topic": "Sums"}],
    "sharegpt": [
        {"id": "1", "conversations": shared(("human", "Hi."), ("gpt", "Hello."), ("human", "Bye."), ("gpt", "Bye."))},
        {"id": "2", "conversations": shared(("system", "Be kind."), ("human", "Hi."), ("gpt", "Hello."))},
    ],
    "sharegpt with tools": [
        {"conversations": shared(("human", "Add."), ("gpt", "add(1)"), ("tool", "2"), ("gpt", "2"))},
    ],
    "hermes": [{"system_prompt": "Be kind.", "conversations": shared(("human", "Hi."), ("gpt", "Hello."))}],
    "capybara": [
        {"source": "x", "conversation": [{"input": "Hi.", "output": "Hello."}, {"input": "?", "output": "!"}]}
    ],
    "conversations by role": [{"conversations": chat("Hi.", "Hello.")}],
    "ultrachat": [{"prompt": "Hi.", "prompt_id": "a1", "messages": chat("Hi.", "Hello.")}],
    "openai": [{"messages": [{"role": "system", "content": "Be kind."}, *chat("Hi.", "Hello.")]}],
    "openai as JSON": [
        {"messages": '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]'},
        {"messages": '[{"role": "user", "content": "Bye."}, {"role": "assistant", "content": "Bye."}]'},
    ],
    "openai functions": [
        {
            "messages": [
                {"role": "user", "content": "1 + 1?", "function_call": None, "name": None},
                {"role": "assistant", "content": None, "function_call": CALL, "name": None},
                {"role": "function", "content": "2", "function_call": None, "name": "add"},
                {"role": "assistant", "content": "It is 2.", "function_call": None, "name": None},
            ],
            "functions": FUNCTIONS,
        }
    ],
    "openai preference": [
        {
            "input": {"messages": chat("Hi."), "tools": [], "parallel_tool_calls": True},
            "preferred_output": [{"role": "assistant", "content": "Hello."}],
            "non_preferred_output": [{"role": "assistant", "content": "Go."}],
        }
    ],
    "columns of turns": [{"messages": {"role": ["user", "assistant"], "content": ["Hi.", "Hello."]}}],
    "messages by speaker": [
        {"dialogue": [{"speaker": "user", "text": "Hi."}, {"speaker": "bot", "text": "Hello."}]},
    ],
    "sharegpt preference": [
        {
            "conversations": shared(("human", "Hi.")),
            "chosen": {"from": "gpt", "value": "Hello."},
            "rejected": {"from": "gpt", "value": "Go."},
        },
        {
            "conversations": shared(("human", "Hi."), ("gpt", "Hello."), ("human", "Bye.")),
            "chosen": {"from": "gpt", "value": "Bye."},
            "rejected": {"from": "gpt", "value": "No."},
        },
    ],
    "conversation and two answers": [
        {"conversations": shared(("human", "Hi.")), "chosen": "Hello.", "rejected": "Go."}
    ],
    "judged conversations": [
        {"messages": chat("Hi.", "Hello."), "label": True},
        {"messages": chat("Bye.", "Go."), "label": False},
    ],
    "hh-rlhf": [
        {
            "chosen": transcript("Hi.", "Hello.", "1 + 1?", "2."),
            "rejected": transcript("Hi.", "Hello.", "1 + 1?", "3."),
        },
        {"chosen": transcript("Name a colour.", "Blue."), "rejected": transcript("Name a colour.", "Salt.")},
    ],
    "ultrafeedback binarized": [ULTRA],
    "ultrafeedback": [
        {
            "source": "evol",
            "instruction": "What is 1 plus 1?",
            "models": ["a", "b", "c"],
            "completions": [
                {"model": "a", "response": "It is 3.", "overall_score": 2.0, "critique": "Wrong."},
                {"model": "b", "response": "It is 2.", "overall_score": 9.0, "critique": "Right."},
                {"model": "c", "response": "Two?", "overall_score": 6.0, "critique": "Short."},
            ],
        }
    ],
    "shp": [
        {"history": "Why?", "human_ref_A": "So.", "human_ref_B": "Because.", "labels": 0, "score_A": 2, "score_B": 8},
        {"history": "How?", "human_ref_A": "Thus.", "human_ref_B": "Dunno.", "labels": 1, "score_A": 9, "score_B": 1},
    ],
    "safe-rlhf": [
        {
            "prompt": "Why?",
            "response_0": "So.",
            "response_1": "Because.",
            "better_response_id": 1,
            "safer_response_id": 0,
        },
    ],
    "scored lists": [
        {"prompt": "Why?", "responses": ["Because.", "So it is.", "No."], "scores": [0.5, 0.9, 0.1]},
        {"prompt": "How?", "responses": ["Thus.", "Dunno."], "scores": [3.0, 1.0]},
    ],
    "helpsteer3": [
        {
            "context": chat("Why?"),
            "response1": "So.",
            "response2": "Because.",
            "overall_preference": 2,
            "domain": "general",
        },
        {
            "context": chat("How?"),
            "response1": "Thus.",
            "response2": "Dunno.",
            "overall_preference": -3,
            "domain": "general",
        },
    ],
    "arena": [
        {"conversation_a": chat("Why?", "So."), "conversation_b": chat("Why?", "Because."), "winner": "model_b"},
    ],
    "orca-dpo": [
        {"system": "Be short.", "question": "Why?", "chosen": "Because.", "rejected": "So."},
        {"system": "", "question": "How?", "chosen": "Thus.", "rejected": "No."},
    ],
    "capybara-dpo": [
        {
            "source": "x",
            "prompt": "Why?",
            "chosen": chat("Hi.", "Hello.", "Why?", "Because."),
            "rejected": chat("Hi.", "Hello.", "Why?", "So."),
            "rating_chosen": 5,
            "rating_rejected": 2,
        }
    ],
    "single messages": [
        {
            "prompt": "Why?",
            "chosen": {"role": "assistant", "content": "Because."},
            "rejected": {"role": "assistant", "content": "So."},
        }
    ],
    "prompt of messages, answers of text": [{"prompt": chat("Why?"), "chosen": "Because.", "rejected": "So."}],
    "thumbs": [
        {"prompt": "Why?", "response": "Because.", "thumbs_up": True},
        {"prompt": "Why?", "response": "So.", "thumbs_up": False},
    ],
    "feedback": [
        {"question": "Why?", "answer": "Because.", "feedback": "👍"},
        {"question": "Why?", "answer": "So.", "feedback": "👎"},
    ],
    "label as text": [
        {"prompt": "Why?", "completion": "Because.", "label": "good"},
        {"prompt": "Why?", "completion": "So.", "label": "bad"},
    ],
    "content": [{"content": "A text about sums.", "url": "x", "id": 1}],
    "code": [{"code": "print(1 + 1)", "language": "python"}],
    "math-shepherd": [{"prompt": "1 + 1?", "completions": ["1 is 1.", "So it is 2."], "labels": [True, False]}],
    "oasst": [
        {"message_id": "1", "parent_id": None, "text": "Hi.", "role": "prompter", "message_tree_id": "1"},
        {"message_id": "2", "parent_id": "1", "text": "Hello.", "role": "assistant", "message_tree_id": "1"},
    ],
}
