"""Texts in many scripts, with code, spaces and emoji: what tokenizers split differently, whatever they were trained on."""

import random

LINES = (
    "The quick brown fox jumps over the lazy dog.",
    "I've told you: he's there, they'll come, WE'VE won, It'S ODD, 'tis 'twas don't DON'T",
    "Prices rose 3.5 % to 1234567 in 2026; 007, 1,000.00 and 1e-05 are numbers; 12 345 678 too",
    "Ça va très bien, déjà-vu, naïve façade; Straße, Größe, Übermäßig",
    "Привет, мир! Это обычный текст на русском языке.",
    "Γειά σου Κόσμε, αυτό είναι ένα κείμενο.",
    "我想在apple工作1314151天。你好,世界!人工智能",
    "これは日本語の文章です。カタカナとひらがな、漢字。",
    "한국어 문장입니다. 오늘 날씨가 좋네요.",
    "مرحبا بالعالم، هذا نص عربي قصير ١٢٣٤",
    "שלום עולם, זה טקסט בעברית",
    "नमस्ते दुनिया, यह हिंदी का पाठ है।",
    "สวัสดีชาวโลก นี่คือข้อความภาษาไทย",
    "কেমন আছো? এটি বাংলা লেখা",
    "កាន់តែពិសេសអាច",
    "def f(x):\n    return {\n        'a': x ** 2,  # comment\n\t\t'b': [i for i in range(10)],\n    }\n",
    'if (a != b && c->d == NULL) { printf("%s\\n", *p++); } // done\r\n',
    "SELECT * FROM t WHERE id >= 10 AND name LIKE '%x_y%';",
    '<div class="a b"><p>Hello&nbsp;world</p></div>',
    "https://example.com/a/b?c=d&e=%20f#g user@example.org ~/x/../y.tar.gz",
    "camelCase snake_case SCREAMING_CASE kebab-case HTMLParser2Go iPhone15Pro",
    "  two   three    four     spaces, and at the end  ",
    "\n\n\nlines\n \n\t\n  \n\tindented\n\n",
    "\ttab\t\ttabs \t mixed\u00a0no-break\u3000wide\u2003em",
    "🚀 (normal) 😶‍🌫️ 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 ❤️ ✅ 🇩🇪🇫🇷",
    "\u0065\u0301 combining e\u0308\u0323, ﬁ ligature, ½ ² ™ № ①",
    "Ⅷ x² + y² ≤ ∑∞ ∂/∂t → ⇒ ∀∃ ∈ ℝ ≠ ≈ ±",
    "------======= ''''''```````\"\"\"\"......!!!!!!?????? ***___***",
    "«Guillemets» „quotes“ “curly” ‘single’ – en — em … dots",
    "3 33 333 3333 33333 333333 3333333 3.3 3..3 3...3",
    "word.Next,word;word:word!word?word(word)[word]{word}",
    "A",
    " a",
    "a ",
    " ",
    "\n",
    "Hello\nWorld\n",
    "ĀāĒē Łódź Zażółć gęślą jaźń; İstanbul ığdır; Đà Nẵng",
    "zero\u200bwidth \u200djoin \ufeffmark soft\u00adhyphen",
    '{"key": [1, 2.5, null, true], "nested": {"a\\u00e9": "b\\n"}}',
)
"""No two stand for the same; the first is ordinary."""
MOST_JOINED = 4


def some_texts(number: int) -> list[str]:
    """Return so many texts: those above, and then random sequences of them and of their parts.

    >>> len(set(some_texts(500)))
    500
    """
    draw = random.Random(0)  # noqa: S311 - nothing is secret
    texts: dict[str, None] = dict.fromkeys(LINES)
    while len(texts) < number:
        parts = draw.choices(LINES, k=draw.randint(1, MOST_JOINED))
        cut = [part[draw.randrange(len(part)) :] if draw.random() < 1 / 2 else part for part in parts]
        texts[draw.choice(("", " ", "\n", "\n\n", "  ")).join(cut)] = None
    return list(texts)[:number]
