"""Checks of one row each: dollars against an API or another card, and measurements beside ceilings."""

from decimal import Decimal

from app.domain.accelerators import load_catalogue
from app.domain.llms.bounds import DecodeBound, decode_bound
from app.domain.llms.measured import bytes_in_pass, longest_pass_s, times_ceiling, times_least_pass
from app.domain.llms.money import blended_usd_per_mtok, break_even, break_even_price_ratio
from app.domain.llms.speculation import accepted_drafts, tokens_per_pass
from tests.domain.llms.vector_bounds import one_stream
from tests.domain.llms.vectors import GIB, LLAMA_70B, Line, at, differing, load_of, peaks


def api_blended_price(line: Line) -> list[str]:
    names = ("usd_per_m_input", "usd_per_m_output", "input_to_output_ratio")
    usd_input, usd_output, ratio = (Decimal(line[name]) for name in names)
    blend = blended_usd_per_mtok(usd_input, usd_output, input_per_output=ratio)
    return differing({"blend": (blend, line["blended_usd_per_m"])}, {})


def api_break_even(line: Line) -> list[str]:
    """The ceilings are those of the case, worked out anew: the row prints four places of them."""
    model, batch, context = (
        (LLAMA_70B, 1, 0) if line["case"].startswith("Llama") else ("deepseek-ai/DeepSeek-V3", 512, 4096)
    )
    gpus, price = int(line["gpus"]), Decimal(line["usd_per_gpu_hour"])
    kv = "fp8" if model == LLAMA_70B else "bf16"
    load = load_of(model, weights="fp8", kv=kv, gpus=gpus)
    bound = decode_bound(load, peaks("4.8", "1979"), batch=batch, context=context)
    assert isinstance(bound, DecodeBound)
    api = Decimal(line["api_usd_per_m_output"])
    found = break_even(price * gpus, tokens_per_s=bound.tokens_per_s, api_usd_per_mtok=api)
    wrong = [] if str(found.can_pay) == line["reachable"] else ["reachable"]
    return wrong + differing(
        {
            "ceiling": (bound.tokens_per_s, line["ceiling_tokens_per_s"]),
            "usd": (found.usd_per_mtok_at_ceiling, line["usd_per_m_at_full_use"]),
            "use": (found.utilisation, line["break_even_utilisation"]),
            "needed": (found.tokens_per_s_needed, line["tokens_per_s_needed"]),
        },
        {"ceiling": 4, "needed": 3},
    )


def measured_vs_batch1_ceiling(line: Line) -> list[str]:
    card = {"H100-SXM-80GB": "H100 SXM", "H200-SXM-141GB": "H200", "B200-SXM-180GB": "B200"}[line["card"]]
    ceiling = one_stream(card, Decimal(line["weights_gb_assumed"])).tokens_per_s
    times = times_ceiling(Decimal(line["measured_tok_s_per_gpu"]), ceiling_tokens_per_s=ceiling)
    wrong = [] if at(times, 2) == line["ratio"] else ["ratio"]
    return wrong + differing({"ceiling": (ceiling, line["batch1_ceiling_tok_s"])}, {"ceiling": 3})


def passes() -> dict[str, tuple[Decimal, int]]:
    """What one measured pass of 46.65 ms against 10.57 worked out implies: figures and their places."""
    measured_s, least_s = Decimal("0.04665"), Decimal("0.01057")
    bandwidth = Decimal(554 * 10**9)
    drafted = tokens_per_pass(accepted_drafts(Decimal("0.505"), depth=4), counting="drafts only")
    moved = bytes_in_pass(least_s, bytes_per_s=bandwidth)
    return {
        "measured_ms_per_pass": (measured_s * 1000, 6),
        "computed_ms_per_pass": (least_s * 1000, 6),
        "factor": (times_least_pass(measured_s, least_pass_s=least_s), 6),
        "share_of_roofline": (times_least_pass(least_s, least_pass_s=measured_s), 6),
        "implied_bytes_per_rank_at_554_GB_s": (moved, 0),
        "implied_gib_per_rank": (moved / GIB, 4),
        "ms_per_pass_from_5.45_GiB": (Decimal("5.45") * GIB / bandwidth * 1000, 3),
        "passes_per_s_measured": (1 / measured_s, 4),
        "passes_per_s_ceiling": (1 / least_s, 4),
        "tok_s_ceiling_depth4_accept_0.505": (drafted / least_s, 3),
        "tok_s_at_measured_pass_depth4_accept_0.505": (drafted / measured_s, 3),
        "tok_s_max_at_measured_pass_depth4_all_accepted": (5 / measured_s, 3),
        "pass_ms_needed_for_205_tok_s_at_5_tokens": (
            longest_pass_s(Decimal(205), tokens_per_pass=Decimal(5)) * 1000,
            4,
        ),
    }


def measured_vs_roofline(line: Line) -> list[str]:
    value, places = passes()[line["quantity"]]
    return differing({line["quantity"]: (value, line["value"])}, {line["quantity"]: places})


CARDS = {"H100 PCIe": "h100-pcie", "H100 SXM": "h100-sxm", "H200": "h200-sxm", "B200": "b200-sxm"}


def break_even_ratios(line: Line) -> list[str]:
    """The bundled cards' bandwidth or fp8 rate, or two prices that the row names."""
    first, second = (load_catalogue().by_id[CARDS[line[card]]] for card in ("card_a", "card_b"))
    if "actual ratio" in line["basis"]:
        dearer, cheaper = line["basis"].rpartition(" ")[2].split("/")
        ratio = break_even_price_ratio(Decimal(dearer), baseline=Decimal(cheaper))
    elif line["basis"] == "peak bandwidth":
        ratio = break_even_price_ratio(second.bandwidth_tb_s, baseline=first.bandwidth_tb_s)
    else:
        ratio = break_even_price_ratio(second.dense_tflops["fp8"], baseline=first.dense_tflops["fp8"])
    wrong = [] if at(ratio, 2) == line["two_dp"] else [f"{at(ratio, 2)} is not {line['two_dp']}"]
    return wrong + differing({"ratio": (ratio, line["break_even_price_ratio_b_over_a"])}, {})
