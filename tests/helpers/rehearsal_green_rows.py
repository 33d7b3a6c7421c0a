"""Jobs that end well on rows that are of no use, and beside each those that look like them and are as they should be."""

from tests.helpers.rehearsal_jobs import ANSWER, CHAT, Job, job

KNOWN_ROLES = (
    "{% for each in messages %}{% if each['role'] in ('system', 'user', 'assistant') %}<|im_start|>{{ each['role'] }}\\n"
    "{{ each['content'] | trim }}<|im_end|>\\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\\n{% endif %}"
)
PICKY = f'tokenizer = AutoTokenizer.from_pretrained("work/tiny")\ntokenizer.chat_template = "{KNOWN_ROLES}"'
GIVEN = "processing_class=tokenizer"
OBSERVED = '{"role": "observation", "content": f"The sum is {i + 1}."}'
QUESTION = 'f"What is the sum of {i} and 1?"'
REPEATED = (
    f'{{"prompt": {QUESTION}, "chosen": {QUESTION} + f" It is {{i + 1}}.", "rejected": {QUESTION} + " No idea."}}'
)
PARTS = '[{"type": "text", "text": f"It is {i + 1}."}]'
NULL = '{"role": "assistant", "content": None}'
CALL = '{"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": i}}}]}'

PAIR = '{"question": f"{i} plus 1?", "answer": str(i + 1)}'
MIXED = '{"question": "1 + 1?", "answer": "2"}\n{"question": "1 + 2?", "answer": {"text": "3"}}\n' * 16
TYPED = 'dataset = load_dataset("json", data_files="rows/{}.jsonl", split="train")'
UNFILLED = 'dataset = dataset.map(lambda row: {{"text": "{}"{}}})'

ROWS: tuple[Job, ...] = (
    job(
        "answers-of-a-role-that-is-left-out",
        "SFT",
        "tokenize/chat-roles-unknown",
        top=PICKY,
        row=f'{{"messages": [{CHAT}, {{"role": "gpt", "content": str(i + 1)}}]}}',
        given=GIVEN,
    ),
    job(
        "observations-that-are-left-out",
        "SFT",
        top=PICKY,
        row=f'{{"messages": [{CHAT}, {OBSERVED}, {ANSWER}]}}',
        given=GIVEN,
    ),
    job(
        "texts-that-are-trimmed",
        "DPO",
        top=PICKY,
        row=f'{{"prompt": [{CHAT}], "chosen": [{{"role": "assistant", "content": f" {{i}} \\n"}}], "rejected": [{{"role": "assistant", "content": " no "}}]}}',
        given=GIVEN,
    ),
    job(
        "answers-of-null",
        "SFT",
        "data/dataset-bad-row-values",
        row=f'{{"messages": [{CHAT}, {NULL} if i % 5 == 0 else {ANSWER}]}}',
    ),
    job(
        "calls-beside-null",
        "SFT",
        row=f'{{"messages": [{CHAT}, {CALL}, {{"role": "tool", "content": "3"}}, {ANSWER}]}}',
    ),
    job(
        "parts-for-a-template-of-texts",
        "SFT",
        "tokenize/dataset-bad-row-values",
        row=f'{{"messages": [{{"role": "user", "content": {PARTS}}}, {{"role": "assistant", "content": {PARTS}}}]}}',
    ),
    job(
        "questions-in-both-answers-and-the-prompt",
        "DPO",
        "data/text-duplicated-in-rows",
        row=REPEATED,
    ),
    job(
        "answers-that-are-their-questions",
        "SFT",
        "data/text-duplicated-in-rows",
        row=f'{{"prompt": {QUESTION}, "completion": {QUESTION}}}',
    ),
    job(
        "names-that-nobody-filled-in",
        "SFT",
        "data/dataset-bad-row-values",
        row=PAIR,
        shape=UNFILLED.format("Q: {question} A: {answer}", ""),
    ),
    job(
        "names-that-a-few-rows-write-about",
        "SFT",
        row=PAIR,
        shape=UNFILLED.format("Write {question} here.", " if len(row['answer']) > 1 else row['answer']"),
    ),
    job(
        "records-among-texts",
        "SFT",
        shape=TYPED.format("records") + """.map(lambda row: {"text": f"A: {row['answer']}"})""",
        files={"rows/records.jsonl": MIXED},
    ),
    job(
        "records-among-texts-that-are-not-read",
        "SFT",
        shape=TYPED.format("unread") + """.map(lambda row: {"text": row["question"]}).remove_columns(["answer"])""",
        files={"rows/unread.jsonl": MIXED},
    ),
    job(
        "nothing-where-a-value-was",
        "SFT",
        row=PAIR,
        shape='dataset = dataset.map(lambda row: {"text": f"A: {row.get(\'anwser\')}"})',
    ),
    job(
        "questions-in-both-answers-alone",
        "DPO",
        row=REPEATED,
        shape='dataset = dataset.remove_columns("prompt")',
    ),
)
"""Rows that a template drops, empties or spells out, and answers that hold their prompt."""
DOUBTED_ROWS = {
    "observations-that-are-left-out": "DAT242",
    "nothing-where-a-value-was": "DAT245",
    "records-among-texts": "dataset-json-type-inconsistent",
}
