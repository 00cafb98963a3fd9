"""What the program's tables say of themselves in English, said in Chinese: score functions, modes, keys of a problem, formats."""

from __future__ import annotations

ABOUT = {
    "score.scaled": "Q·Kᵀ / √d_k，缩放点积：点积的方差随 d_k 增大，除以 √d_k 使 Softmax 不致饱和",
    "score.dot": "Q·Kᵀ，点积",
    "score.additive": "vᵀ·tanh(W·[q; k])，或 vᵀ·tanh(W_q·q + W_k·k + b)，加性打分",
    "score.general": "qᵀ·W·k，双线性打分",
    "score.cosine": "Q·Kᵀ / (‖q‖·‖k‖)，余弦；零向量的余弦为 0",
    "mode.soft": "沿每一行做 Softmax：exp(S) 除以该行之和",
    "mode.hard": "每行的权重全部给得分最大的键；并列时取第一个",
    "mode.sample": "以软注意力的权重为概率抽取一个键，权重全部给它",
    "mode.gumbel": "得分加上 Gumbel 噪声后做 Softmax（温度在此之前作用）",
    "mode.sparsemax": "max(S − τ, 0)，阈值 τ 使每行之和为 1",
    "mode.entmax15": "max(S/2 − τ, 0)²，阈值 τ 使每行之和为 1",
    "key.title": "显示在最上方的标题",
    "key.tokens": "X 各行的名称（没有 X 时是 Q 的）；自注意力中也是键的名称",
    "key.query_tokens": "查询的名称（键另有名称时）",
    "key.key_tokens": "键的名称（查询另有名称时）",
    "key.X": "输入序列，每行一个词元：n × d_model",
    "key.context": "键和值由它得出，查询由 X 得出（交叉注意力）：m × d_context",
    "key.W_Q": "得出查询，Q = X·W_Q：d_model × h·d_k",
    "key.W_K": "得出键，K = context·W_K：d_context × kv_heads·d_k",
    "key.W_V": "得出值，V = context·W_V：d_context × kv_heads·d_v",
    "key.b_Q": "查询的偏置，每列一个数",
    "key.b_K": "键的偏置，每列一个数",
    "key.b_V": "值的偏置，每列一个数",
    "key.Q": "直接给出的查询，不再投影：n × h·d_k 或 h × n × d_k",
    "key.K": "直接给出的键，不再投影：m × kv_heads·d_k 或 kv_heads × m × d_k",
    "key.V": "直接给出的值，不再投影：m × kv_heads·d_v 或 kv_heads × m × d_v",
    "key.scores": "直接给出的得分，代替 Q 和 K：n × m 或 h × n × m",
    "key.heads": "头数：Q、K、V 的列依次切成这么多组",
    "key.kv_heads": "K 和 V 的头数，每个头为相邻的几个查询头服务",
    "key.W_O": "作用于拼接后的各头：h·d_v × d_out",
    "key.b_O": "输出的偏置，每列一个数",
    "key.weights_layout": "out_in：权重矩阵按 PyTorch 的方式存放，Q = X·W_Qᵀ",
    "key.score": "打分函数：每个查询与每个键有多匹配",
    "key.scale": "乘在原始得分上；对 scaled 它代替 1/√d_k",
    "key.softcap": "得分变为 c·tanh(得分 / c)，在掩码之前",
    "key.bias": "加在得分上：n × m 或 h × n × m；-inf 即掩盖",
    "key.mask": "谁可以关注谁",
    "key.mode": "得分怎样变成权重",
    "key.temperature": "得分在进入 mode 之前除以它",
    "key.seed": "供需要随机数的 mode 使用",
    "key.vectors": "columns：每个词元是一列",
    "key.upstream": "损失对输出的梯度，形状与输出相同（默认全为 1）",
    "key.dtype": "用哪种浮点数计算",
    "key.ask": "批改时要求做的步骤",
    "key.answers": "别人算出的数，按步骤的名称给出",
    "key.mask.causal": "查询不关注自己位置之后的键",
    "key.mask.offset": "第 i 个查询位于键的位置 i + offset",
    "key.mask.window": "查询可以关注自己位置之前和之后各多少个键",
    "key.mask.lengths": "只有前这么多个键是真实的",
    "key.mask.keep": "true 或 1 表示查询可以关注：n × m、h × n × m 或 m",
    "key.mask.drop": "true 或 1 表示查询不可以关注，形状相同",
    "format.table": "终端里的表格：有框线，每个权重旁有一条横条，需要时有颜色",
    "format.plain": "没有框线和颜色的文本",
    "format.json": "JSON：每个步骤，全部有效数字",
    "format.yaml": "YAML：内容同 JSON，便于人读",
    "format.csv": "CSV：矩阵连同标签，全部有效数字，便于电子表格",
    "format.markdown": "GitHub 和 Jupyter 能显示的 Markdown",
    "format.latex": "LaTeX：表格，以及按等号对齐的算式",
    "format.html": "HTML：一个不需要网络的文件，指向一个数即可看到它的算式",
    "format.svg": "SVG：权重的热图，或页面本身",
    "format.npz": "NPZ：每个步骤的数组，逐位相同",
    "format.npy": "NPY：一个步骤的数组，逐位相同",
    "format.gradescope": "Gradescope 自动评分器读取的 JSON",
}
"""By kind and name. A test holds it against the tables."""

EXPECTED = {
    "text": "一段文字",
    "labels": "标签的列表，如 [the, cat]",
    "truth": "true 或 false",
    "truths": "由 true 和 false（或 1 和 0）组成的矩阵",
    "window": "两侧共用的一个整数，或 [左, 右]；null 表示该侧不限",
    "mask": "causal、由 1 和 0 组成的矩阵，或由各组成部分组成的映射",
    "arrays": "由数组组成的映射",
    "steps": "步骤的列表，如 [scores, weights]",
    "answers": "由步骤组成的映射，如 weights:",
}
"""What may stand under a key, by its kind."""
ARRAYS = ("一个数", "一行数", "矩阵", "矩阵，或每个头一个")
"""The same for an array, by the most axes that it may have."""


def expected_zh(kind: str, axes: tuple[int, ...], least: int | None, above: float | None, choices: tuple[str, ...]) -> str | None:
    """What may stand under a key of that kind, with its bounds; None where nothing is known of it."""
    if kind == "matrix":
        return ARRAYS[max(axes)]
    if kind == "number":
        return "有限的数" if above is None else f"大于 {above:g} 的数"
    if kind == "whole":
        return "整数" if least is None else f"不小于 {least} 的整数"
    if kind == "word":
        return "、".join(choices)
    return EXPECTED.get(kind)
