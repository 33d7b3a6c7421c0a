"""Loops of the script's own whose calls are missing, out of order or without effect, and loops that only look like them."""

from collections.abc import Mapping

from tests.helpers.rehearsal_jobs import Job
from tests.helpers.rehearsal_loops import ADAM, ADAPTED, BACK, HEAD, KEPT, SCALED, WHOLE, loop

UNCHANGED = "step/weights-not-updated"
LOST = "step/nan-loss-silent-success"
TOO_HIGH = "step/lr-too-high-divergence"
BARE = HEAD + WHOLE + ADAM
EACH = """
for batch in loader:
    loss = model(**batch).loss
"""
WARMED = "scheduler = get_linear_schedule_with_warmup(optimizer, {}, 100)\n"
CLIPPED = "loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
ACCUMULATED = """
accelerator = Accelerator(gradient_accumulation_steps=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        {}
        optimizer.step()
        optimizer.zero_grad()
"""
BY_HAND = """
for number, batch in enumerate(loader):
    (model(**batch).loss / 2).backward()
    if number % 2:
        optimizer.step()
        optimizer.zero_grad()
"""
GUARDED = """
for number, batch in enumerate(loader):
    loss = model(**batch).loss * (float("nan") if number == 1 else 1.0)
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
CLOSED = """
for batch in loader:
    def compute():
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        return loss
    optimizer.step(compute)
"""
WITHOUT = """
for batch in loader:
    model.zero_grad()
    grads = torch.autograd.grad(model(**batch).loss, list(model.parameters()))
    for each, grad in zip(model.parameters(), grads):
        each.grad = grad
    optimizer.step()
"""
TWO = """
critic = torch.nn.Linear(9, 1)
second = torch.optim.AdamW(critic.parameters(), lr=1e-4)
for batch in loader:
    optimizer.zero_grad()
    model(**batch).loss.backward()
    optimizer.step()
    second.zero_grad()
    critic(torch.randn(4, 9)).pow(2).mean().backward()
    second.step()
"""
EVERY = "from torch.optim.lr_scheduler import LambdaLR\nscheduler = LambdaLR(optimizer, lambda step: 1.0)\n"
EPOCHS = """
for epoch in range(2):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()
"""
GUARDED_STEPS = """
accelerator = Accelerator(gradient_accumulation_steps=2)
model, loader = accelerator.prepare(model, loader)
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**batch).loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
"""
OF_HEADS = """
accelerator = Accelerator(gradient_accumulation_steps=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward((model(**batch).loss + model(**batch).logits.pow(2).mean()) / 2)
        optimizer.step()
        optimizer.zero_grad()
"""
CLIPPED_BEFORE = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); loss.backward()"
CLIPPED_AFTER = "from torch.nn.utils import clip_grad_norm_; clip_grad_norm_(model.parameters(), 1.0)"
CLIPPED_BETWEEN = """
half = list(model.parameters())[::2]
rest = list(model.parameters())[1::2]
first, second = torch.optim.AdamW(half, lr=1e-4), torch.optim.AdamW(rest, lr=1e-4)
for batch in loader:
    model(**batch).loss.backward()
    first.step()
    torch.nn.utils.clip_grad_norm_(rest, 1.0)
    second.step()
    model.zero_grad()
"""
COPIED = WHOLE + "import copy\nema = copy.deepcopy(model)\n"
LOADED_TWICE = WHOLE.replace("model =", "base =") + WHOLE
AVERAGED = """
for batch in loader:
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    for each, other in zip(ema.parameters(), model.parameters()):
        each.data.mul_(0.9).add_(other.data, alpha=0.1)
ema.save_pretrained("out/loop")
tokenizer.save_pretrained("out/loop")
"""
FROZEN_ADAPTER = """
for name, each in model.named_parameters():
    each.requires_grad = "lora" not in name
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-4)
"""
ALL_SAVED = 'lora_all = LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"])\n'
MASK_ONCE = 'count = globals().get("count", 0) + 1\n    if count == 2: batch["labels"][:] = -100'


def _job(name: str, source: str, fails: str = "") -> Job:
    return Job(name=name, source=source + KEPT, fails=fails)


BAD: tuple[Job, ...] = (
    loop("loop-far-too-fast", WHOLE + ADAM.replace("1e-4", "1e8"), TOO_HIGH),
    loop("loop-too-fast", WHOLE + ADAM.replace("1e-4", "2.0"), TOO_HIGH),
    loop("loop-of-wild-descent", WHOLE + "optimizer = torch.optim.SGD(model.parameters(), lr=1e9)\n", TOO_HIGH),
    loop("loop-beyond-numbers", WHOLE + "optimizer = torch.optim.SGD(model.parameters(), lr=1e25)\n", TOO_HIGH),
    loop("loop-of-losses-lost", WHOLE + ADAM, LOST, back="loss = loss * float('nan'); loss.backward()"),
    loop("loop-of-gradients-lost", WHOLE + ADAM, LOST, back="loss.backward(); next(model.parameters()).grad.fill_(float('nan'))"),
    loop("loop-emptied-by-its-model", WHOLE + ADAM, UNCHANGED, back="loss.backward(); model.zero_grad()"),
    loop("loop-filled-with-zeros", WHOLE + ADAM, UNCHANGED, back="loss.backward(); optimizer.zero_grad(set_to_none=False)"),
    loop("loop-without-backward", WHOLE + ADAM, UNCHANGED, back="pass"),
    _job("loop-without-steps", BARE + EACH + "    loss.backward()\n    optimizer.zero_grad()\n", UNCHANGED),
    loop("loop-of-an-older-model", WHOLE + ADAM + WHOLE, UNCHANGED),
    loop("loop-adapted-too-late", WHOLE + ADAM + ADAPTED, UNCHANGED),
    loop("loop-of-a-new-tensor", WHOLE + ADAM, UNCHANGED, back="torch.tensor(loss.item(), requires_grad=True).backward()"),
    loop("loop-frozen", WHOLE + "model.requires_grad_(False)\n" + ADAM, "step/no-trainable-parameters"),
    loop("loop-warmed-up-never", WHOLE + ADAM + WARMED.format(10), "step/lr-too-low-flat"),
    loop("loop-detached", WHOLE + ADAM, UNCHANGED, back="loss.detach().backward()"),
    loop("loop-that-saves-another-model", LOADED_TWICE + ADAM, "save/no-checkpoint-saved", end=KEPT.replace("model.", "base.", 1)),
    loop("loop-that-saves-without-its-adapter", WHOLE + ADAPTED + ADAM, "export/user-code-error", end=KEPT.replace("model.", "model.unload().", 1)),
    loop("loop-that-saves-its-adapter-before", WHOLE + ADAPTED + 'model.save_pretrained("out/loop")\n' + ADAM, "save/no-checkpoint-saved", end=""),
    loop("loop-of-a-frozen-adapter", WHOLE + ADAPTED + FROZEN_ADAPTER, "save/no-checkpoint-saved"),
    _job("loop-without-gradients", BARE + EACH.replace("loss =", "with torch.no_grad(): loss =") + "    loss.backward()\n", UNCHANGED),
)  # fmt: skip
DOUBTED: tuple[Job, ...] = (
    _job("loop-never-cleared", BARE + EACH + "    loss.backward()\n    optimizer.step()\n"),
    loop("loop-scheduled-never", WHOLE + ADAM + WARMED.format(0)),
    loop("loop-scheduled-first", WHOLE + ADAM + WARMED.format(0), back="loss.backward(); scheduler.step()"),
    _job("loop-accumulated-whole", BARE + ACCUMULATED.format("loss.backward()")),
    _job(
        "loop-divided-twice",
        BARE + ACCUMULATED.format("accelerator.backward(loss / accelerator.gradient_accumulation_steps)"),
    ),
    _job(
        "loop-of-an-optimizer-unprepared",
        BARE + ACCUMULATED.replace("model, optimizer, loader", "model, loader").format(BACK),
    ),
    loop("loop-clipped-before", WHOLE + ADAM, back=CLIPPED_BEFORE),
    loop("loop-clipped-after", WHOLE + ADAM, then=CLIPPED_AFTER),
)
GOOD: tuple[Job, ...] = (
    loop("loop-clipped", WHOLE + ADAM, back=CLIPPED),
    loop("loop-moved-after-its-optimizer", WHOLE + ADAM + "model.cuda()\n", move='batch = {n: each.to("cuda") for n, each in batch.items()}'),
    _job("loop-clipped-between-optimizers", HEAD + WHOLE + CLIPPED_BETWEEN),
    _job("loop-of-guarded-steps", BARE + GUARDED_STEPS),
    _job("loop-of-two-losses", BARE + OF_HEADS),
    loop("loop-that-saves-a-copy-of-what-it-trained", WHOLE + ADAM, end="import copy\nmodel = copy.deepcopy(model)\n" + KEPT),
    loop("loop-that-saves-half", WHOLE + ADAM, end="model = model.half()\n" + KEPT),
    loop("loop-that-saves-both", LOADED_TWICE + ADAM, end='base.save_pretrained("out/base")\n' + KEPT),
    Job(name="loop-averaged", source=HEAD + COPIED + ADAM + AVERAGED),
    loop("loop-of-a-frozen-adapter-that-is-merged", WHOLE + ADAPTED + FROZEN_ADAPTER, end="model = model.merge_and_unload()\n" + KEPT),
    loop("loop-of-an-adapter-and-its-embeddings", WHOLE + ADAPTED.replace("lora)", "lora_all)").replace("model =", ALL_SAVED + "model =") + ADAM),
    loop("loop-merged", WHOLE + ADAPTED + ADAM, end="model = model.merge_and_unload()\n" + KEPT),
    loop("loop-evaluated", WHOLE + ADAM, end=KEPT + "model.eval()\nwith torch.no_grad():\n    print(model(**batch).loss.item())"),
    loop("loop-of-descent", WHOLE + "optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)\n"),
    loop("loop-cleared-first", WHOLE + ADAM, move="optimizer.zero_grad()"),
    loop("loop-masked-once", WHOLE + ADAM, move=MASK_ONCE),
    loop("loop-that-forgets", WHOLE + ADAM, back="(-loss).backward()"),
    loop("loop-scheduled", WHOLE + ADAM + WARMED.format(2), then="scheduler.step()"),
    _job("loop-scheduled-by-epoch", BARE + EVERY + EPOCHS),
    _job("loop-accumulated", BARE + ACCUMULATED.format(BACK)),
    _job("loop-accumulated-by-hand", BARE + BY_HAND),
    _job("loop-guarded", BARE + GUARDED),
    _job("loop-closed", BARE.replace("AdamW(model.parameters(), lr=1e-4)", "LBFGS(model.parameters(), max_iter=1)") + CLOSED),
    _job("loop-without-a-call", BARE + WITHOUT),
    _job("loop-of-two", BARE + TWO),
    Job(name="loop-scaled", source=HEAD + WHOLE + "model.cuda()\n" + ADAM + SCALED + KEPT),
    loop("loop-of-prompts", WHOLE + "from peft import PromptTuningConfig\nlora = PromptTuningConfig(task_type='CAUSAL_LM', num_virtual_tokens=4)\n" + ADAPTED + ADAM),
)  # fmt: skip
LOOP_FAULTS: Mapping[str, Job] = {each.name: each for each in (*BAD, *DOUBTED, *GOOD)}
